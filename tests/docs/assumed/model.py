import equinox as eqx
