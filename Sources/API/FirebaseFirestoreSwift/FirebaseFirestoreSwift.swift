// The name under which the encoder and decoder used to be imported.

@_exported public import FirebaseFirestore
