// What `import FirebaseFirestore` brings along, as existing code expects.

@_exported public import FirebaseCore
@_exported public import Foundation
