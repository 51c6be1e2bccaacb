// What code that imports FirebaseStorage sees without asking.

@_exported public import FirebaseCore
@_exported public import Foundation
