"""Joint forces as columns that are linear in the numbers sought: links, joints, motors."""
