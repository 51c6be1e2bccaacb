// A module that re-exports FirebaseFirestore. Its name is the one from which the encoder and the decoder used
// to be imported.

@_exported public import FirebaseFirestore
