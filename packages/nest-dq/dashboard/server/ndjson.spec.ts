import { describe, expect, it } from '@jest/globals';
import { readLines } from './ndjson.js';

const TEXT = '{"progress":{"done":128}}\n\n{"progress":{"done":130,"who":"李"}}\n{"end":true}';

describe('readLines', () => {
  it('reads the same lines wherever the bytes are cut', async () => {
    const bytes = new TextEncoder().encode(TEXT);
    const expected = [{ progress: { done: 128 } }, { progress: { done: 130, who: '李' } }, { end: true }];
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(await all(streamOf(bytes.slice(0, cut), bytes.slice(cut)))).toEqual(expected);
  });

  it('reads nothing from an empty answer', async () => {
    expect(await all(streamOf())).toEqual([]);
  });

  it('fails at a line that is not JSON, after the lines before it', async () => {
    const lines = readLines(streamOf(new TextEncoder().encode('{"a":1}\n<html>\n')));
    expect((await lines.next()).value).toEqual({ a: 1 });
    await expect(lines.next()).rejects.toThrow(SyntaxError);
  });

  it('closes the answer when its reader stops early', async () => {
    let cancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (control) => control.enqueue(new TextEncoder().encode('{"a":1}\n')),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const line of readLines(stream)) {
      expect(line).toEqual({ a: 1 });
      break;
    }
    expect(cancelled).toBe(true);
  });
});

async function all(stream: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of readLines(stream)) lines.push(line);
  return lines;
}

function streamOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (control) => {
      for (const chunk of chunks) control.enqueue(chunk);
      control.close();
    },
  });
}
