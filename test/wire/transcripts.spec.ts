import { beforeAll, describe, it, jest } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import {
  startEmbedded,
  startEmbeddedOnDisk,
  startEmbeddedServer,
  startReal,
  type StartNode,
} from './nodes.js';
import { play } from './play.js';
import { parseTranscripts } from './transcript.js';

jest.setTimeout(120_000);

const folder = new URL('./transcripts/', import.meta.url);
const transcripts = readdirSync(folder).flatMap((file) =>
  parseTranscripts(file, readFileSync(new URL(file, folder), 'utf8')),
);

const nodes: readonly { name: string; start: StartNode; split: boolean }[] = [
  { name: 'beanstalkd 1.12', start: startReal, split: false },
  { name: 'the embedded node over TCP', start: startEmbeddedServer, split: false },
  { name: 'the embedded node in the process', start: startEmbedded, split: false },
  { name: 'the embedded node with a folder', start: startEmbeddedOnDisk, split: false },
  { name: 'the embedded node in the process, byte by byte', start: startEmbedded, split: true },
];

const plays = nodes.map(({ name, start, split }) => ({
  name,
  plays: transcripts.map((transcript) => ({
    title: transcript.title,
    play: () => play(transcript, start, split),
    done: Promise.resolve(),
  })),
}));

// Some take real seconds, so they are played concurrently.
const AT_ONCE = 48;

beforeAll(async () => {
  const left = plays.flatMap((node) => node.plays);
  const playNext = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      next.done = next.play();
      await next.done.catch(() => undefined); // the test of this play awaits it too
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, playNext));
});

describe.each(plays)('$name', (node) => {
  it.each(node.plays)('$title', async (each) => {
    await each.done;
  });
});
