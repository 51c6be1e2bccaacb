import HTTPClient
import Testing

@Suite struct WebRequestTests {
  @Test func aRequestHasNoBodyAtFirst() {
    let request = WebRequest("GET", "/v1/projects/p?x=1")
    #expect(request.method == "GET")
    #expect(request.target == "/v1/projects/p?x=1")
    #expect(request.body == nil)
    #expect(request.fields == [])
  }
}
