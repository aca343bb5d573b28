/**
 * Reads a stream of JSON values, one a line, as its bytes arrive. An empty line is nothing, and the last line may lack its end.
 * A line that is no JSON is a SyntaxError.
 */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<unknown, void, undefined> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = done ? '' : lines.pop()!;
      for (const line of lines) if (line.trim() !== '') yield JSON.parse(line);
      if (done) return;
    }
  } finally {
    // A consumer that stops early closes the request: that ends the act on the server.
    await reader.cancel();
  }
}
