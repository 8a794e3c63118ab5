import graftsim as gs

_leg = gs.Builder("leg")
_leg.link("shin", joint="prismatic", mass=1.0, inertia=0.01)
_leg.geom("sphere", 0.03, "shin", name="left_foot")
gs.write_urdf(_leg.build(), "robot.urdf", lossy=True)
