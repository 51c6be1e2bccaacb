// The enumeration `ServerTimestamp`, under the name that models of Ballcap use.
//
// `FirebaseFirestore` declares a property wrapper of the same name. If this module declared the enumeration,
// a file that imports both would have to say which one it means. An import of one declaration shadows what an
// import of a whole module brings, and a re-export passes that on: with this line, such a file means the
// enumeration. ServerTimestampNameTests guards this rule of the compiler.

@_exported public import enum BallcapFields.ServerTimestamp
