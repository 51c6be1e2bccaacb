// Re-exports the modules that existing code expects from `import FirebaseAuth`.

@_exported public import FirebaseCore
@_exported public import Foundation
