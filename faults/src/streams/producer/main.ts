// The producer: a Nest application that pushes at a steady rate on request, and ends when it has all answers.
import 'reflect-metadata';
import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import { KqError, KqModule, KqPusher } from 'nest-kq';
import { LogWriter } from '../../log.js';
import { atPace } from '../../waiting.js';
import type { Numbered, Push, StreamLine } from '../log.js';
import type { Order, StreamArguments } from '../programs.js';
import { NUMBERS } from '../topic.js';

/** One message in fifty fails at first. */
const FAILING = 50;

const { log: path, options } = JSON.parse(process.argv[2]!) as StreamArguments & { readonly log: string };
const log = new LogWriter<StreamLine>(path);

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
const module = KqModule.forRoot({ ...options, consume: false });
const app = await NestFactory.createApplicationContext(module, { logger: ['warn', 'error'] });
const pusher = app.get(KqPusher);
process.send!('ready');
const [order] = (await once(process, 'message')) as [Order];
const from = Date.now();
const pace = { from, to: from + order.over, signal: new AbortController().signal };
await atPace(order.messages, pace, (i) => push(numbered(i, order)));
await app.close();
process.exit(0);

function numbered(message: number, { keys, work, padding = 0 }: Order): Numbered {
  const key = `key-${message % keys}`;
  const number = Math.floor(message / keys);
  const turn = message + number; // so that short, long and failing ones are those of all keys
  return {
    message,
    key,
    number,
    ms: (work * (1 + (turn % 10))) / 5.5,
    fails: turn % FAILING === 0 ? 1 : 0,
    ...(padding > 0 && { padding: 'x'.repeat(padding) }),
  };
}

async function push(value: Numbered): Promise<void> {
  const { message, key, number } = value;
  const base = { what: 'push', message, key, number, askedAt: Date.now() } as const;
  const answer = await answerTo(value);
  log.write({ ...base, ...answer, at: Date.now() });
}

async function answerTo(value: Numbered): Promise<Pick<Push, 'answer' | 'partition' | 'offset' | 'code'>> {
  try {
    const { partition, offset } = await pusher.push(NUMBERS, value, { key: value.key });
    return { answer: 'stored', partition, offset: Number(offset) };
  } catch (error) {
    if (!(error instanceof KqError)) throw error;
    return { answer: error.indeterminate ? 'unsure' : 'refused', code: error.code };
  }
}
