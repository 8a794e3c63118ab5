"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""
