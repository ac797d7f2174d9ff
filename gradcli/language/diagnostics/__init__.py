"""Every message of the tool: error codes, explanations, and how an error is shown."""
