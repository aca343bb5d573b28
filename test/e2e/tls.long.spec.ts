// Nodes that are reached over TLS: real beanstalkds behind real stunnels.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { DqOptions } from 'nest-dq';
import type { CopyView } from 'nest-dq/operate';
import {
  Authority,
  eventually,
  startStunnel,
  type Certificate,
  type StunnelOptions,
  type StunnelServer,
} from 'test-servers';
import { countCopies } from '../support/copies.js';
import { expectOnceEach, record, schedule, type Start } from '../support/jobs.js';
import { closedAfterEach, clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const suite = clusterSuite();
const open = closedAfterEach<{ close(): Promise<unknown> }>();
/** The authority of all nodes and clients here, and one that nobody trusts. */
let authority: Authority;
let stranger: Authority;
/** In front of each node. */
let stunnels: StunnelServer[];
let tubes = 0;

beforeAll(async () => {
  [authority, stranger] = await Promise.all([Authority.make(), Authority.make()]);
  stunnels = await Promise.all(
    suite.servers.beanstalkds.map(async (target) =>
      startStunnel({ target, certificate: await authority.issue() }),
    ),
  );
}, 120_000);
afterAll(() => Promise.all(stunnels.map((each) => each.stop())));

const endpoints = () => stunnels.map(({ endpoint }) => endpoint);

/** A process that reaches the nodes over TLS; `beanstalks` in the place of all three. */
function start({ beanstalks = endpoints(), tls = {}, ...more }: DqOptions = {}): System {
  return suite.start({ beanstalks, tls: { ca: authority.certificate, ...tls }, ...more });
}

const allUp = ({ nodes }: System) => eventually('all nodes are up', () => nodes.every(({ up }) => up));

/** The copies on each node, as the node itself tells without TLS. */
const copies = (tube: string) =>
  Promise.all(suite.servers.beanstalkds.map((node) => countCopies(node, tube)));
const isEmpty = async (tube: string) => (await copies(tube)).every((count) => count === 0);

/** One more stunnel in front of the first node. */
async function stunnel(options: Omit<StunnelOptions, 'target'>): Promise<StunnelServer> {
  const server = await startStunnel({ target: suite.servers.beanstalkds[0]!, ...options });
  open.push({ close: () => server.stop() });
  return server;
}

/** Why the first node of the system stays away, from its health. */
async function whyAway(system: System): Promise<string> {
  const [node] = system.nodes;
  const logged = () => system.log.find((line) => line.startsWith(`${node!.endpoint} is down`));
  await eventually('it is logged', () => logged() !== undefined);
  expect(node!.up).toBe(false);
  const { nodes } = (await system.health.check()).dq;
  expect(logged()).toMatch(/ is down; retrying: [A-Z_]+: ./);
  return nodes[node!.endpoint]!;
}

describe('a cluster behind stunnel', () => {
  it('runs each job once, and revokes others', async () => {
    const system = start();
    const tube = `tls${tubes++}`;
    await allUp(system);
    const revoked = await schedule(system, tube, 10, () => Date.now() + 3_600_000);
    const starts: Start[] = [];
    await record(system, tube, starts);
    const receipts = await schedule(system, tube, 60, (i) => Date.now() + (i % 3) * 500);
    for (const { ref } of revoked) expect(await system.producer.revoke(ref)).toBe('revoked');
    await eventually('all ran', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
    await eventually('all copies are gone', () => isEmpty(tube));
  }, 60_000);

  it('keeps running while a stunnel, and then a node behind one, is killed and comes back', async () => {
    const system = start();
    const tube = `tls${tubes++}`;
    await allUp(system);
    const starts: Start[] = [];
    await record(system, tube, starts);
    const receipts = await schedule(system, tube, 30, () => Date.now() + 1_000);
    await stunnels[0]!.kill();
    await eventually('its node is away', () => !system.nodes[0]!.up);
    receipts.push(...(await schedule(system, tube, 10, () => Date.now())));
    stunnels[0]!.certificate = await authority.issue();
    await stunnels[0]!.restart();
    await suite.servers.beanstalkds[1]!.kill();
    await eventually('the other node is away', () => system.nodes[0]!.up && !system.nodes[1]!.up);
    expect(system.nodes[1]!.reason).toMatch(/the server ended the connection|ECONNRESET|the reply came/);
    receipts.push(...(await schedule(system, tube, 10, () => Date.now())));
    await suite.servers.beanstalkds[1]!.restart();
    await allUp(system);
    await eventually('all ran', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
    await eventually('all copies are gone', () => isEmpty(tube));
  }, 120_000);

  it('finds jobs stored without TLS, and a process without TLS those stored over it', async () => {
    const [plain, secure] = [suite.start(), start()];
    await Promise.all([allUp(plain), allUp(secure)]);
    for (const [one, other] of [
      [plain, secure],
      [secure, plain],
    ] as const) {
      const tube = `tls${tubes++}`;
      const receipts = await schedule(one, tube, 5, () => Date.now() + 3_600_000);
      expect(await copies(tube)).toEqual([5, 5, 5]);
      for (const { ref } of receipts)
        expect(await other.producer.revoke(ref, { confirmed: true })).toBe('revoked');
      expect(await copies(tube)).toEqual([0, 0, 0]);
    }
  });

  it('is drained and repaired by the names of its nodes', async () => {
    const system = start();
    await allUp(system);
    const [node] = endpoints();
    const tube = `tls${tubes++}`;
    expect(await system.control.drainNode(node!)).toBe(true);
    await eventually('the process knows', () => system.nodes[0]!.drained);
    const receipt = await system.producer.delay(tube, 'x', '1h');
    expect(receipt).toMatchObject({ copies: 2 });
    expect(await system.control.undrainNode(node!)).toBe(true);
    await eventually('the process knows', () => !system.nodes[0]!.drained);
    await eventually('the job is repaired', async () => {
      let done = 0; // behind the add, the job is listed
      for await (const progress of system.control.repair({ tube })) done = progress.done;
      return done === 1;
    });
    expect(await copies(tube)).toEqual([1, 1, 1]);
    const explained = await system.inspector.explain({ ref: receipt.ref });
    expect(explained).toMatchObject({ copies: expect.any(Array) });
    const found = (explained as { readonly copies: readonly CopyView[] }).copies;
    expect(new Set(found.map(({ node }) => node))).toEqual(new Set(endpoints()));
  }, 60_000);
});

describe('a node whose certificate does not verify is away', () => {
  const others = () => endpoints().slice(1);

  it.each<[string, () => Promise<Certificate>, RegExp]>([
    [
      'has expired',
      () => authority.issue({ expired: true }),
      /^CONNECTION_LOST: .*certificate has expired \(CERT_/,
    ],
    [
      'is of an unknown authority',
      () => stranger.issue(),
      /the server's certificate is from an untrusted authority/,
    ],
    [
      'is for another name',
      () => authority.issue({ names: 'DNS:other.example' }),
      /the server's certificate is for a different name .*127\.0\.0\.1/,
    ],
  ])('as it %s', async (_, issue, reason) => {
    const { endpoint } = await stunnel({ certificate: await issue() });
    const system = start({ beanstalks: [endpoint, ...others()] });
    expect(await whyAway(system)).toMatch(reason);
    const receipt = await system.producer.delay(`tls${tubes++}`, 'x', '1h');
    expect(receipt).toMatchObject({ copies: 2 });
  });

  it('and comes back when it shows a good one', async () => {
    const server = await stunnel({ certificate: await authority.issue({ expired: true }) });
    const system = start({ beanstalks: [server.endpoint, ...others()] });
    await whyAway(system);
    server.certificate = await authority.issue();
    await server.restart();
    await allUp(system);
  });

  it('unless its name is the one that the option gives', async () => {
    const { endpoint } = await stunnel({ certificate: await authority.issue({ names: 'DNS:dq.internal' }) });
    const [named, other] = ['dq.internal', 'dq.example'].map((servername) =>
      start({ beanstalks: [endpoint], tls: { servername } }),
    );
    await allUp(named!);
    expect(await whyAway(other!)).toContain(
      "Host: dq.example. is not in the cert's altnames: DNS:dq.internal",
    );
  });

  it('if it is none of those that Node trusts, and no authority is given', async () => {
    const system = suite.start({ beanstalks: endpoints() });
    expect(await whyAway(system)).toContain('an untrusted authority');
  });
});

describe('a node that wants client certificates', () => {
  let endpoint: string;
  beforeAll(async () => {
    const clientCa = authority.certificate;
    const certificate = await authority.issue();
    const server = await startStunnel({ target: suite.servers.beanstalkds[0]!, certificate, clientCa });
    stunnels.push(server);
    ({ endpoint } = server);
  });
  afterAll(() => stunnels.pop()!.stop());

  it('takes one of its authority', async () => {
    const { certificate, key } = await authority.issue();
    const system = start({ beanstalks: [endpoint], tls: { cert: certificate, key: Buffer.from(key) } });
    await allUp(system);
    expect(await system.producer.delay(`tls${tubes++}`, 'x', '1h')).toMatchObject({ copies: 1 });
  });

  it.each<[string, () => Promise<DqOptions['tls']>, RegExp]>([
    ['a process without one', async () => ({}), /the server requires a client certificate/],
    [
      'one of another authority',
      async () => tlsOf(await stranger.issue()),
      /the server does not trust the authority of our/,
    ],
    [
      'one that has expired',
      async () => tlsOf(await authority.issue({ expired: true })),
      /our client certificate has expired/,
    ],
  ])('refuses %s', async (_, tls, reason) => {
    const system = start({ beanstalks: [endpoint], tls: await tls() });
    const why = await whyAway(system);
    // With TLS 1.3 the refusal may get lost, as the connection is closed by then.
    if (!why.includes('does it require another client certificate')) expect(why).toMatch(reason);
  });

  const tlsOf = ({ certificate, key }: Certificate) => ({ cert: certificate, key });
});

describe('TLS on one side only', () => {
  it('is reported by a process without it', async () => {
    const [server] = stunnels;
    const system = suite.start({ beanstalks: [`${server!.host}:${server!.port}`] });
    expect(await whyAway(system)).toContain('without replying: does it expect TLS?');
  });

  it('is reported by a process with it, whose handshake never ends, and which sends nothing in clear', async () => {
    const heard: number[] = [];
    const silent = createServer((socket) => socket.on('data', (bytes) => heard.push(bytes[0]!)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    open.push({ close: async () => silent.close() });
    const system = start({ beanstalks: [`tls://127.0.0.1:${(silent.address() as AddressInfo).port}`] });
    expect(await whyAway(system)).toContain(
      'no completed TLS handshake for `stats` within 5000 ms: does the server expect TLS?',
    );
    await eventually('it tried again', () => heard.length > 1);
    expect(new Set(heard)).toEqual(new Set([0x16])); // handshakes
  }, 60_000);
});

it('the connections to a node resume one session, and have TLS 1.2 at least', async () => {
  const { certificate: cert, key } = await authority.issue();
  const seen: { resumed: boolean; version: string | null }[] = [];
  const server = createTlsServer({ cert, key, minVersion: 'TLSv1' }, (socket) => {
    seen.push({ resumed: socket.isSessionReused(), version: socket.getProtocol() });
    socket.on('error', () => undefined); // the process ends its connections at its own end
    socket.on('data', () => socket.write(`OK 12\r\n---\nid: 'a'\n\r\n`)); // the least that stats may be
    setImmediate(() => seen.length < 3 && socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({ close: async () => server.close() });
  start({ beanstalks: [`tls://127.0.0.1:${(server.address() as AddressInfo).port}`] });
  await eventually('it has connected three times', () => seen.length >= 3);
  expect(seen[0]!.resumed).toBe(false);
  expect(seen.some(({ resumed }) => resumed)).toBe(true);
  expect(new Set(seen.map(({ version }) => version))).toEqual(new Set(['TLSv1.3']));
});
