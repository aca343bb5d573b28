import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Post, Body, type INestApplication } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DelayedHandler, Discard, DqError, DqModule, DqProducer, type JobOptions } from 'nest-dq';
import { DqDeadLetters, type DeadLetter } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import { blocksOf, compact } from '../support/page.js';
import { AdminGuard, DeadLettersController, DqErrorFilter } from './over-http.js';

interface Ask extends JobOptions {
  readonly delay: string;
  readonly tube?: string;
}

@Controller('orders')
class Orders {
  constructor(private readonly dq: DqProducer) {}

  @Post()
  place(@Body() { tube = 'order', delay, ...options }: Ask) {
    return this.dq.delay(tube, { id: '1' }, delay as '1s', options);
  }
}

@Injectable()
class Handlers {
  readonly ran: unknown[] = [];
  fails = true;

  @DelayedHandler('order')
  order(payload: unknown): Discard | undefined {
    if (this.fails) return Discard.because('no such order');
    this.ran.push(payload);
    return undefined;
  }

  @DelayedHandler('slip', { attempts: 1 })
  slip(): void {
    throw new DqError('DQ_DUPLICATE', 'of an add in a handler');
  }
}

const ignore = () => undefined;
const quiet = { log: ignore, warn: ignore, error: ignore };
let kit: DqTestKit;
let app: INestApplication;
let url: string;

beforeEach(async () => {
  kit = new DqTestKit({ nodes: 3 });
  const builder = Test.createTestingModule({
    imports: [DqModule.forRoot()],
    controllers: [Orders, DeadLettersController],
    providers: [Handlers, AdminGuard, { provide: APP_FILTER, useClass: DqErrorFilter }],
  });
  const module = await kit.override(builder).setLogger(quiet).compile();
  app = module.createNestApplication({ logger: quiet });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
});

afterEach(async () => {
  await app.close();
  await kit.close();
});

async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', 'x-admin': 'yes', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as never };
}

describe('the filter answers', () => {
  it.each<[number, string | undefined, Ask]>([
    [201, undefined, { delay: '1h' }],
    [400, 'DQ_BAD_DURATION', { delay: 'soon' }],
    [409, 'DQ_DUPLICATE', { delay: '1h', key: 'taken', onDuplicate: 'reject' }],
    [500, undefined, { delay: '1h', tube: 'our slip' }],
  ])('%i %s', async (status, code, body) => {
    await kit.producer.delay('order', {}, '1h', { key: 'taken' });
    const answer = await ask('POST', '/orders', body);
    expect(answer.status).toBe(status);
    if (code !== undefined) {
      expect(answer.body).toEqual({ statusCode: status, code, indeterminate: false });
    }
  });

  it('503 when the module is closed', async () => {
    app.get<{ close(): void }>(DqProducer).close();
    expect(await ask('POST', '/orders', { delay: '1h' })).toMatchObject({
      status: 503,
      body: { code: 'DQ_CLOSED' },
    });
  });
});

it('leaves to a handler its own error', async () => {
  await kit.producer.now('slip', undefined);
  await kit.advance('5s');
  const { letters } = await app.get(DqDeadLetters).list('slip');
  expect(letters).toMatchObject([
    { error: { name: 'DqError', message: 'DQ_DUPLICATE: of an add in a handler' } },
  ]);
});

describe('the controller', () => {
  async function dead(): Promise<DeadLetter> {
    await kit.producer.now('order', { id: '1' });
    await kit.advance('5s');
    const { letters } = (await ask('GET', '/admin/dead-letters?tube=order')).body as {
      letters: DeadLetter[];
    };
    expect(letters).toMatchObject([{ payload: { id: '1' }, why: 'discarded', attempt: 1 }]);
    return letters[0]!;
  }

  it('lists and shows dead letters, to admins only', async () => {
    const letter = await dead();
    const path = `/admin/dead-letters/${letter.ref}`;
    expect(await ask('GET', path)).toEqual({ status: 200, body: letter });
    expect((await ask('GET', path, undefined, { 'x-admin': 'no' })).status).toBe(403);
    expect((await ask('GET', '/admin/dead-letters/dq1.none')).status).toBe(400);
    expect((await ask('GET', '/admin/dead-letters?tube=a%20b')).status).toBe(500);
  });

  it('revives one, which then runs, now or after a delay', async () => {
    const path = `/admin/dead-letters/${(await dead()).ref}`;
    const handlers = app.get(Handlers);
    handlers.fails = false;
    expect((await ask('POST', `${path}/revive`, { delay: 'soon' })).status).toBe(400);
    expect(await ask('POST', `${path}/revive`, { delay: '1h' })).toEqual({
      status: 200,
      body: { result: 'revived' },
    });
    await kit.advance('59m');
    expect(handlers.ran).toEqual([]);
    await kit.advance('1m');
    expect(handlers.ran).toEqual([{ id: '1' }]);
    expect((await ask('POST', `${path}/revive`)).body).toEqual({ result: 'done' });
    expect((await ask('GET', path)).status).toBe(404);
  });

  it('discards one', async () => {
    const path = `/admin/dead-letters/${(await dead()).ref}`;
    expect((await ask('DELETE', path)).body).toEqual({ result: 'discarded' });
    expect((await ask('DELETE', path)).body).toEqual({ result: 'revoked' });
    expect((await ask('GET', '/admin/dead-letters?tube=order')).body).toEqual({ letters: [] });
  });
});

it('is what the pages show', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const compiled = compact(read('./over-http.ts'));
  const [, errors] = read('../../docs/errors.md').split('## Errors as HTTP statuses');
  const blocks = [...blocksOf(errors!), ...blocksOf(read('../../docs/dead-letters.md'))];
  const shown = blocks.filter((code) => /^@(Catch|Controller)/m.test(code));
  expect(shown).toHaveLength(2);
  for (const code of shown) expect(compiled).toContain(compact(code));
});
