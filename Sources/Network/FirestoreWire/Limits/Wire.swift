// The namespace of the messages of google.firestore.v1.

/// The messages of google.firestore.v1, under their names in the protocol.
package enum Wire {}
