"""One job: a testbench in its simulator, and what its probes observed."""
