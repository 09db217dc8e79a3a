"""From a model to a machine: code for a controller's board, loops in real time, and twins of measured rigs.

- `controller`: `export_controller`.
- `realtime`: `run_in_real_time`, an exported controller against its simulated arm.
- `transports`: datagrams and shared memory between the two.
- `watch`, `serve`: plots of such a run in a browser.
- `twin`, `twin_report`: `twin`, from the log of a rig to a controller, and its report.
"""
