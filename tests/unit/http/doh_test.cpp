#include "http/doh.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace doxlab::http {
namespace {

using ::testing::HasSubstr;

// RFC 8484 §4.1.1: the query for www.example.com A, and the path it becomes.
constexpr std::string_view kRfcQueryText = "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB";

Bytes rfc_query() {
  return *base64url_decode(kRfcQueryText);
}

std::string get_header(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (header.name == name) return header.value;
  }
  return "(absent)";
}

Request get_request(std::string path) {
  return {"GET", "https", "dns.example", std::move(path), {}, {}};
}

Request post_request(Bytes body, std::string type = "application/dns-message") {
  return {"POST", "https", "dns.example", "/dns-query", {{"content-type", std::move(type)}}, std::move(body)};
}

int status_of(const Request& request) {
  const auto result = read_doh_request(request, "/dns-query");
  return result ? 200 : result.error().status;
}

TEST(Base64url, RfcExamplesRoundTrip) {
  EXPECT_EQ(rfc_query().size(), 33u);
  EXPECT_EQ(base64url_encode(rfc_query()), kRfcQueryText);
  // RFC 4648 §10 without padding.
  for (auto [plain, text] : {std::pair{"", ""},
                             {"f", "Zg"},
                             {"fo", "Zm8"},
                             {"foo", "Zm9v"},
                             {"foob", "Zm9vYg"},
                             {"fooba", "Zm9vYmE"},
                             {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64url_encode(as_bytes(plain)), text);
    EXPECT_EQ(as_text(*base64url_decode(text)), plain);
  }
}

TEST(Base64url, EveryLengthRoundTrips) {
  std::mt19937 random(7);
  for (std::size_t length = 0; length < 300; ++length) {
    Bytes bytes(length);
    for (auto& octet : bytes) octet = static_cast<std::uint8_t>(random());
    EXPECT_EQ(base64url_decode(base64url_encode(bytes)).value(), bytes);
  }
}

TEST(Base64url, RejectsWhatIsNotCanonical) {
  for (const char* text :
       {"A", "AAAAA", "AA==", "AAA=", "AA+A", "AA/A", "A A", "AA\n", "AB", "AAB", "=", "\xff\xff"}) {
    EXPECT_FALSE(base64url_decode(text)) << text;
  }
}

TEST(DohRequest, PostCarriesContentLengthAndNothingThatIdentifies) {
  const Request request = make_doh_request(rfc_query(), false, "dns.example", "/dns-query");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/dns-query");
  EXPECT_EQ(request.body, rfc_query());
  EXPECT_EQ(get_header(request.headers, "content-length"), "33");
  EXPECT_EQ(get_header(request.headers, "content-type"), "application/dns-message");
  EXPECT_EQ(request.headers.size(), 3u) << "only accept, content-type, content-length";
}

TEST(DohRequest, GetIsTheRfcExample) {
  const Request request = make_doh_request(rfc_query(), true, "dnsserver.example.net", "/dns-query");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/dns-query?dns=" + std::string(kRfcQueryText));
  EXPECT_TRUE(request.body.empty());
  EXPECT_EQ(make_doh_request(rfc_query(), true, "a", "/q?x=1").path,
            "/q?x=1&dns=" + std::string(kRfcQueryText));
}

TEST(DohRequest, BothFormsAreReadBack) {
  for (bool get : {false, true}) {
    const auto query = read_doh_request(make_doh_request(rfc_query(), get, "a", "/dns-query"), "/dns-query");
    ASSERT_TRUE(query) << query.error().status;
    EXPECT_EQ(*query, rfc_query());
  }
}

TEST(DohRequest, StatusOfEachTarget) {
  const std::string dns = "dns=" + std::string(kRfcQueryText);
  const struct {
    std::string path;
    int status;
  } cases[] = {
      {"/dns-query?" + dns, 200},
      {"/dns-query?ct=application/dns-message&" + dns, 200},
      {"/dns-query?" + dns + "&random=1", 200},
      {"/dns-query?&&" + dns + "&", 200},
      {"/dns-query?DNS=zzz&" + dns, 200},
      {"/dns-query?d%6Es=" + std::string(kRfcQueryText), 200},
      {"/dns%2Dquery?" + dns, 200},
      {"/dns-query", 400},
      {"/dns-query?", 400},
      {"/dns-query?dns", 400},
      {"/dns-query?dns=", 400},
      {"/dns-query?DNS=" + std::string(kRfcQueryText), 400},
      {"/dns-query?" + dns + "&" + dns, 400},
      {"/dns-query?dns=&" + dns, 400},
      {"/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB====", 400},
      {"/dns-query?dns=AAABAAABAAAAAAAA%3D", 400},
      {"/dns-query?dns=%zz", 400},
      {"/dns-query?" + dns + "%4", 400},
      {"/dns-query?dns=!!!!", 400},
      {"/dns-query?dns=AAABAAABAAAAAA", 400},    // 10 octets
      {"/dns-query?dns=AACAAAABAAAAAAAA", 400},  // QR set
      {"/dns-query?" + dns + "#f", 400},
      {"/", 404},
      {"/dns-query/?" + dns, 404},
      {"/Dns-Query?" + dns, 404},
      {"/other?" + dns, 404},
      {"*", 404},
      {"", 404},
      {"/dns-query?dns=" + std::string(9000, 'A'), 414},
      {"/" + std::string(9000, 'x'), 414},
  };
  for (const auto& c : cases) EXPECT_EQ(status_of(get_request(c.path)), c.status) << c.path.substr(0, 100);
}

TEST(DohRequest, StatusOfEachMethod) {
  const std::string path = "/dns-query?dns=" + std::string(kRfcQueryText);
  const struct {
    const char* method;
    int status;
  } cases[] = {
      {"GET", 200},   {"HEAD", 200},    {"PUT", 405},  {"DELETE", 405}, {"OPTIONS", 405}, {"PATCH", 405},
      {"TRACE", 405}, {"CONNECT", 405}, {"BREW", 501}, {"get", 501},    {"", 501},        {"PROPFIND", 501},
  };
  for (const auto& c : cases) {
    Request request = get_request(path);
    request.method = c.method;
    EXPECT_EQ(status_of(request), c.status) << c.method;
    if (c.status != 405) continue;
    const auto error = read_doh_request(request, "/dns-query").error();
    EXPECT_EQ(get_header(error.headers, "allow"), "GET, HEAD, POST");
  }
}

TEST(DohRequest, StatusOfEachPost) {
  EXPECT_EQ(status_of(post_request(rfc_query())), 200);
  EXPECT_EQ(status_of(post_request(rfc_query(), "Application/DNS-Message; charset=x")), 200);
  EXPECT_EQ(status_of(post_request(rfc_query(), " application/dns-message ")), 200);
  EXPECT_EQ(status_of(post_request(rfc_query(), "application/dns-messages")), 415);
  EXPECT_EQ(status_of(post_request(rfc_query(), "application/json")), 415);
  EXPECT_EQ(status_of(post_request(rfc_query(), "")), 415);
  EXPECT_EQ(status_of(post_request({})), 400);
  EXPECT_EQ(status_of(post_request({0, 0})), 400);
  EXPECT_EQ(status_of(post_request(Bytes(11))), 400);
  EXPECT_EQ(status_of(post_request(Bytes(12))), 200);
  EXPECT_EQ(status_of(post_request(Bytes(65535))), 200);
  EXPECT_EQ(status_of(post_request(Bytes(65536))), 413);
  EXPECT_EQ(status_of(post_request(Bytes(70000), "text/plain")), 413);

  Request no_type = post_request(rfc_query());
  no_type.headers.clear();
  EXPECT_EQ(status_of(no_type), 415);
  Request two_types = post_request(rfc_query());
  two_types.headers.push_back(two_types.headers.front());
  EXPECT_EQ(status_of(two_types), 415);
  Request encoded = post_request(rfc_query());
  encoded.headers.push_back({"content-encoding", "gzip"});
  EXPECT_EQ(status_of(encoded), 415);
  Request with_parameters = post_request(rfc_query());
  with_parameters.path += "?dns=broken&x";
  EXPECT_EQ(status_of(with_parameters), 200) << "parameters of a POST mean nothing";
  Request answer = post_request(rfc_query());
  answer.body[2] |= 0x80;
  EXPECT_EQ(status_of(answer), 400);
}

TEST(DohRequest, ContentInGetIsRefused) {
  Request request = get_request("/dns-query?dns=" + std::string(kRfcQueryText));
  request.body = {1};
  EXPECT_EQ(status_of(request), 400);
}

TEST(DohRequest, EveryErrorHasATextBody) {
  for (const Request& request :
       {get_request("/x"), get_request("/dns-query"), get_request("/" + std::string(9000, 'x')),
        post_request(rfc_query(), "x/y"), post_request(Bytes(70000)), post_request({1})}) {
    const auto result = read_doh_request(request, "/dns-query");
    ASSERT_FALSE(result);
    const Response& error = result.error();
    EXPECT_GT(error.body.size(), 5u);
    EXPECT_EQ(get_header(error.headers, "content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(get_header(error.headers, "content-length"), std::to_string(error.body.size()));
    EXPECT_EQ(get_header(error.headers, "cache-control"), "no-store");
  }
}

TEST(DohResponse, SuccessSaysTypeLengthAndFreshness) {
  const Response response = make_doh_response(Bytes(40), 300);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(get_header(response.headers, "content-type"), "application/dns-message");
  EXPECT_EQ(get_header(response.headers, "content-length"), "40");
  EXPECT_EQ(get_header(response.headers, "cache-control"), "max-age=300");
  EXPECT_EQ(get_header(make_doh_response(Bytes(40), std::nullopt).headers, "cache-control"), "no-store");
  EXPECT_EQ(read_doh_response(response).value(), Bytes(40));
}

TEST(DohResponse, EachFaultHasAReason) {
  const Response good = make_doh_response(Bytes(40), 1);
  const auto reason = [](const Response& response) {
    const auto result = read_doh_response(response);
    return result ? std::string("accepted") : result.error().message;
  };
  Response r = good;
  r.status = 500;
  EXPECT_THAT(reason(r), HasSubstr("HTTP status 500"));
  r.status = 302;
  EXPECT_THAT(reason(r), HasSubstr("HTTP status 302"));
  r.status = 0;
  EXPECT_THAT(reason(r), HasSubstr("HTTP status 0"));
  r.status = 429;
  r.headers.push_back({"retry-after", "17"});
  EXPECT_EQ(reason(r), "HTTP status 429, retry after 17 s");
  r.headers.back().value = "\x1b[31m soon";
  EXPECT_EQ(reason(r), "HTTP status 429");
  r = good;
  r.headers[0].value = "text/html";
  EXPECT_THAT(reason(r), HasSubstr("not application/dns-message"));
  r = good;
  r.headers.push_back({"content-encoding", "br"});
  EXPECT_THAT(reason(r), HasSubstr("content-encoding"));
  r = good;
  r.body.resize(11);
  EXPECT_THAT(reason(r), HasSubstr("11 octets"));
  r.body.resize(70000);
  EXPECT_THAT(reason(r), HasSubstr("longer"));
}

}  // namespace
}  // namespace doxlab::http
