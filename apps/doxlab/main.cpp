#include <print>

int main() {
  std::println("doxlab {}", DOXLAB_VERSION);
  return 0;
}
