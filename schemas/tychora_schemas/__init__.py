"""What everybody talks in: identities, locators, requests, receipts, results, errors. Imports nothing of ours.

Import from the modules (`tychora_schemas.result`, `tychora_schemas.errors`…): this package itself loads nothing.
"""
