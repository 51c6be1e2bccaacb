// The umbrella that existing code imports.

@_exported public import FirebaseAuth
@_exported public import FirebaseCore
@_exported public import FirebaseFirestore
@_exported public import FirebaseStorage
