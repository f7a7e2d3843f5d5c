"""SandboxFusion's API on a worker: /run_code and /submit."""
