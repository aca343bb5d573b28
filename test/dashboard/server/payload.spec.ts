import { expect, it } from '@jest/globals';
import { DqProducer, defineTube, type PayloadCodec } from 'nest-dq';
import type { DqDashboardJob, DqDashboardMessage, DqDashboardOptions } from 'nest-dq/dashboard';
import { ServedApp } from './served-app.js';

const ORDER = { card: '4711', id: 7 };

async function payloadOf(redact: DqDashboardOptions['redact'], payload: unknown = ORDER) {
  const served = await ServedApp.start({ ...(redact && { dashboard: { redact } }) });
  const { ref } = await served.app.get(DqProducer).delay('orders', payload, '1h', { key: 'k-1' });
  return served.get(`/dq/api/job/payload?ref=${ref}`);
}

it('shows what `redact` returned, which is called with the job', async () => {
  const jobs: (DqDashboardJob | DqDashboardMessage)[] = [];
  const answer = await payloadOf((payload, job) => {
    jobs.push(job);
    return { ...(payload as object), card: '…' };
  });
  expect(answer.json).toEqual({ payload: { card: '…', id: 7 } });
  expect(jobs).toEqual([{ tube: 'orders', id: expect.any(String), key: 'k-1' }]);
});

it('awaits `redact`', async () => {
  expect((await payloadOf(async () => 'hidden')).json).toEqual({ payload: 'hidden' });
});

it.each([
  ['a text', 'text', { payload: 'text' }],
  ['bytes', Buffer.from('hello'), { bytes: 'aGVsbG8=' }],
  ['markup', '<script>alert(1)</script>', { payload: '<script>alert(1)</script>' }],
])('shows a payload that is %s', async (_, payload, shown) => {
  const answer = await payloadOf(undefined, payload);
  expect([answer.status, answer.json]).toEqual([200, shown]);
});

const TEXT: PayloadCodec = { name: 'own', encode: JSON.stringify, decode: JSON.parse };
const BYTES: PayloadCodec = { name: 'packed', encode: () => Buffer.from([1, 2, 255]), decode: String };
it.each<[string, PayloadCodec, DqDashboardOptions, object]>([
  ['a text', TEXT, {}, { codec: 'own', size: 22, text: '{"card":"4711","id":7}' }],
  ['bytes', BYTES, {}, { codec: 'packed', size: 3 }],
  ['a text, with `redact`', TEXT, { redact: () => 'not called' }, { codec: 'own', size: 22 }],
])(
  'shows a payload that a codec wrote as %s, and lets nobody edit it',
  async (_, codec, dashboard, encoded) => {
    const served = await ServedApp.start({ dashboard });
    const tube = defineTube<typeof ORDER>('orders', { codec });
    const { ref } = await served.app.get(DqProducer).delay(tube, ORDER, '1h');
    expect((await served.get(`/dq/api/job/payload?ref=${ref}`)).json).toEqual({ encoded });
    if (dashboard.redact) return;
    const { status, json } = await served.post('/dq/api/acts/runEdited', { ref, payload: { id: 8 } });
    expect([status, json.code]).toEqual([400, 'DQ_BAD_PAYLOAD']);
    expect(json.message).toContain(`encoded with the codec "${codec.name}"`);
  },
);

it('shows none of a job that has none', async () => {
  expect((await payloadOf(() => undefined)).json).toEqual({});
});

it('says so if `redact` returned what JSON cannot hold', async () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  for (const [value, part] of [
    [{ n: 1n }, 'BigInt'],
    [cycle, 'circular'],
  ] as const) {
    const { status, json } = await payloadOf(() => value);
    expect([status, json.code]).toEqual([400, 'DQ_BAD_PAYLOAD']);
    expect(json.message).toContain(part);
  }
});

it('shows nothing if `redact` fails, neither the payload nor why', async () => {
  const { status, text, json } = await payloadOf(() => {
    throw new Error('no card 4711');
  });
  expect([status, json.code, text.includes('4711')]).toEqual([500, 'INTERNAL', false]);
});

it('there is no payload of a job that is gone, and none of another prefix', async () => {
  const served = await ServedApp.start({ dq: { embedded: 'memory', prefix: 'mine.' } });
  const unknown = await served.get('/dq/api/job/payload?tube=orders&id=01ARZ3NDEKTSV4RRFFQ69G5FAV');
  expect([unknown.status, unknown.json.code]).toEqual([404, 'NOT_FOUND']);
  const content = ['theirs.orders', '01ARZ3NDEKTSV4RRFFQ69G5FAV', 0, 1_900_000_000_000, 1, []];
  const ref = `dq1.${Buffer.from(JSON.stringify(content)).toString('base64url')}`;
  for (const answer of [
    await served.get(`/dq/api/job/payload?ref=${ref}`),
    await served.get(`/dq/api/job?ref=${ref}`),
    await served.post('/dq/api/acts/revoke', { ref }),
  ]) {
    expect([answer.status, answer.json]).toEqual([
      400,
      { code: 'DQ_BAD_REF', message: expect.stringContaining('"theirs.orders"') },
    ]);
  }
});

it.each<[string, NonNullable<Parameters<typeof ServedApp.start>[0]>['dashboard'], boolean]>([
  ['everything', {}, true],
  ['payloads redacted', { redact: () => '…' }, false],
  ['no payloads', { access: () => ({ acts: 'all' }) }, false],
])('a viewer who sees %s gets headers and edits payloads: %s', async (_what, dashboard, allowed) => {
  const served = await ServedApp.start({ dashboard });
  const headers = { tenant: 'xyzzy' };
  const { ref } = await served.app.get(DqProducer).delay('orders', ORDER, '1h', { headers });
  const { text } = await served.get(`/dq/api/job?ref=${ref}`);
  expect(text.includes('xyzzy')).toBe(allowed);
  expect((await served.get('/dq/api/session')).json.acts.includes('runEdited')).toBe(allowed);
  const act = await served.post('/dq/api/acts/runEdited', { ref, payload: { id: 8 } });
  expect(act.status).toBe(allowed ? 200 : 403);
  expect((await served.get(`/dq/api/job?ref=${ref}`)).json.because).toBe(
    allowed ? 'not-consumed' : 'not-due',
  );
});
