// The records of the chat, their paths and their counters.

import FirebaseFirestore
import Foundation
import StreamBaseKit

final class Room: BaseItem {
  var title: String?
  /// Maintained by `ResourceBase`.
  private(set) var messageCount = 0

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    title = dict?["title"] as? String
    messageCount = dict?["message_count"] as? Int ?? 0
  }

  override var dict: [String: Any] {
    var dict = super.dict
    dict["title"] = title
    return dict
  }
}

final class Message: BaseItem {
  var from: String?
  var text: String?

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    from = dict?["from"] as? String
    text = dict?["text"] as? String
  }

  override var dict: [String: Any] {
    var dict = super.dict
    dict["from"] = from
    dict["text"] = text
    return dict
  }
}

/// Maps the classes to paths, and rejects messages that are too long.
final class ChatBase: ResourceBase {
  override init(firebase: Firestore) {
    super.init(firebase: firebase)
    resource(Room.self, path: "/room/@")
    resource(Message.self, path: "/room_message/$room/@")
    counter(Room.self, name: "message_count", countingType: Message.self)
  }

  override func willCreateInstance(
    _ instance: any BaseItemProtocol, key: String, context: ResourceContext,
    done: @escaping ResourceDoneHandler
  ) {
    if let message = instance as? Message, (message.text ?? "").count > 200 {
      return done(
        NSError(domain: "chat", code: 1, userInfo: [NSLocalizedDescriptionKey: "That is too long."]))
    }
    done(nil)
  }
}
