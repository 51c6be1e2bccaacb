// Simulated members, so that a single terminal shows some activity.

import Foundation

/// A simulated member of a room, with the answers that it can give.
struct Friend: Sendable {
  let name: String
  let answers: [String]

  static let all = [
    Friend(name: "eve", answers: ["Really?", "Tell me more.", "I thought so."]),
    Friend(name: "bob", answers: ["Hello!", "Back in a minute.", "That is on disk now, by the way."]),
  ]

  /// Chooses a friend and an answer based on the text of the message.
  static func answering(_ text: String) -> (friend: Friend, answer: String) {
    let number = text.utf8.reduce(0) { $0 &+ Int($1) }
    let friend = all[number % all.count]
    return (friend, friend.answers[number / all.count % friend.answers.count])
  }
}
