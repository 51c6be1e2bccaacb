// The values of FirebaseOptions, and their keys in a property list.

import Foundation

extension FirebaseOptions {
  struct Values: Hashable, Sendable {
    static let projectIDDefault = "dugout"
    static let storageBucketDefault = "dugout"

    var googleAppID = ""
    var gcmSenderID = ""
    var projectID: String? = Self.projectIDDefault
    var apiKey: String?
    var storageBucket: String? = Self.storageBucketDefault
    var clientID: String?
    var bundleID: String?
    var databaseURL: String?
    var directory: URL?
  }
}

extension FirebaseOptions.Values {
  init(propertyList: [String: Any]) {
    func string(_ key: String) -> String? { propertyList[key] as? String }
    googleAppID = string("GOOGLE_APP_ID") ?? googleAppID
    gcmSenderID = string("GCM_SENDER_ID") ?? gcmSenderID
    projectID = string("PROJECT_ID") ?? projectID
    apiKey = string("API_KEY")
    storageBucket = string("STORAGE_BUCKET") ?? storageBucket
    clientID = string("CLIENT_ID")
    bundleID = string("BUNDLE_ID")
    databaseURL = string("DATABASE_URL")
  }
}
