// Asks what was recorded of three viewers, again and again at the times of the recording, until the process that started it lets
// it go. It draws nothing: browsers are on other machines than the application.
import { pause } from '../waiting.js';
import type { ViewersArguments, ViewersReport } from './viewers.js';

const { length, streams, requests } = JSON.parse(process.argv[2]!) as ViewersArguments;
const end = new AbortController();
const reads = streams.map(readStream);
let answers = 0;
report();
while (process.connected) {
  const start = performance.now();
  const answered = requests.map(async ({ at, url }) => {
    await pause(Math.max(0, start + at - performance.now()));
    if (!process.connected) return;
    await ask(url);
    answers++;
    report();
  });
  await Promise.all([pause(length), ...answered]);
}
end.abort();
await Promise.all(reads);

async function ask(url: string): Promise<void> {
  const response = await fetch(url);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}

async function readStream(url: string): Promise<void> {
  const { body } = await fetch(url, { signal: end.signal });
  try {
    for await (const _ of body!);
    throw new Error(`${url} ended`);
  } catch (error) {
    if (!end.signal.aborted) throw error;
  }
}

function report(): void {
  const message: ViewersReport = { answers };
  if (process.connected) process.send!(message);
}
