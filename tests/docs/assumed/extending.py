import math


def holds():
    """The classes lack nothing."""
    assert abs(float(kernel(5.0)) - math.log(24.0)) < 1e-6
    made = simulator.integrator, simulator.contact, Cauchy(), GaussNewton(), Grid(), JSONLines()
    names = ["midpoint", "carpet", "cauchy", "gauss_newton", "grid", "JSON lines", "Chain"]
    assert [x.name for x in (*made, Chain())] == names
    assert Height("tip").channel == "link.height[tip]"
    assert list(model.geom.kinds) == ["spheroid", "plane"]
