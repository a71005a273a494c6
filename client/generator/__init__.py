"""The generator of the client: records, fields and methods from the OpenAPI document."""
