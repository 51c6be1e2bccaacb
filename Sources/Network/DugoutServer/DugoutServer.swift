@_exported public import FirestoreServer
