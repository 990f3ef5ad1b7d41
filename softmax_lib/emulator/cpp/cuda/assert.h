// Device assertions are in the shim: the system's would end the whole process.
