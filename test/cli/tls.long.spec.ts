import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, Authority, startRedis, startStunnel, type StunnelServer } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';
import { NestDqProcess } from './nest-dq-process.js';

const suite = cliSuite();
let authority: Authority;
/** In front of the three nodes. */
const stunnels: StunnelServer[] = [];

beforeAll(async () => {
  authority = await Authority.make();
  const client = await authority.issue();
  for (const target of suite.servers.beanstalkds) {
    const certificate = await authority.issue();
    stunnels.push(await startStunnel({ target, certificate, clientCa: authority.certificate }));
  }
  await Promise.all([
    writeFile(join(suite.folder, 'ca.pem'), client.ca),
    writeFile(join(suite.folder, 'client.pem'), client.certificate),
    writeFile(join(suite.folder, 'client.key'), client.key),
  ]);
}, 120_000);
afterAll(() => Promise.all(stunnels.map((each) => each.stop())));

const CERTIFICATES = { DQ_TLS_CA: 'ca.pem', DQ_TLS_CERT: 'client.pem', DQ_TLS_KEY: 'client.key' };
const nodes = () => stunnels.map(({ endpoint }) => endpoint);
const overTls = () => ({ DQ_BEANSTALKS: nodes().join(), ...CERTIFICATES });

/** The checks of `doctor` about the nodes that are no `ok`. */
async function troubles(env: Readonly<Record<string, string>>): Promise<string[]> {
  const { stdout } = await suite.nestDq(['doctor', '--json'], { ...overTls(), ...env });
  const { checks } = JSON.parse(stdout) as {
    checks: Record<'level' | 'about' | 'fact' | 'advice', string>[];
  };
  return checks
    .filter(({ level, about }) => level !== 'ok' && nodes().includes(about))
    .map(({ level, fact, advice }) => `${level}: ${fact} → ${advice}`);
}

describe('the command line over TLS', () => {
  it('finds, drains and revokes what processes without TLS have stored', async () => {
    const { ref } = await suite.system.producer.delay(TUBE, 1, '1h');
    const flags = ['--tls-ca', 'ca.pem', '--tls-cert', 'client.pem', '--tls-key', 'client.key'];
    const plain = { DQ_BEANSTALKS: nodes().join() };
    expect(await suite.nestDq(['find', ref, ...flags], plain)).toMatchObject({ code: 0, stderr: '' });
    expect(await suite.nestDq(['node', 'drain', nodes()[0]!], overTls())).toMatchObject({ code: 0 });
    expect((await suite.nestDq(['nodes'], overTls())).stdout).toMatch(
      new RegExp(`^${nodes()[0]} .*drained`, 'm'),
    );
    expect(await suite.nestDq(['node', 'undrain', nodes()[0]!], overTls())).toMatchObject({ code: 0 });
    expect((await suite.nestDq(['revoke', ref], overTls())).code).toBe(0);
    expect(await suite.system.producer.find({ ref })).toMatchObject({ state: 'revoked' });
  });

  it('takes the option of the application from its file', async () => {
    const { ca, key, certificate: cert } = await authority.issue();
    const redis = suite.servers.redis.url;
    await writeFile(
      join(suite.folder, 'tls.json'),
      JSON.stringify({ beanstalks: nodes(), redis, tls: { ca, cert, key } }),
    );
    const env = { DQ_BEANSTALKS: '', DQ_REDIS: '' };
    expect((await suite.nestDq(['nodes', '--config', 'tls.json'], env)).stdout).toContain(nodes()[2]!);
  });

  it.each([
    [['--tls-ca', 'none.pem'], '--tls-ca: cannot read none.pem: ENOENT'],
    [['--tls-key', 'ca.pem'], '`tls.key` is not a private key'],
    [['--beanstalks', '10.0.0.1:11300'], '`tls` is set, but no node in `beanstalks` uses TLS'],
    [['--tls-servername', '10.0.0.1'], '`tls.servername` is "10.0.0.1": expected a host name'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await suite.nestDq(['nodes', ...args], overTls());
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('nest-dq doctor', () => {
  it('warns of certificates that end soon', async () => {
    // Test certificates are valid for two days.
    expect(await troubles({})).toEqual(
      Array(3).fill(expect.stringMatching(/^warning: certificate expires in 1d 23h .*→ renew it/)),
    );
  });

  it('says what is wrong with a certificate', async () => {
    const stranger = await Authority.make();
    const [one, two, three] = stunnels as [StunnelServer, StunnelServer, StunnelServer];
    one.certificate = await authority.issue({ expired: true });
    two.certificate = await authority.issue({ names: 'DNS:other.example' });
    three.certificate = await stranger.issue();
    await Promise.all(stunnels.map((each) => each.restart()));
    expect(await troubles({})).toEqual(
      [
        "the server's certificate has expired",
        "the server's certificate is for a different name",
        "the server's certificate is from an untrusted authority",
      ].map((reason) =>
        expect.stringMatching(
          new RegExp(`^failure: no answer: ${reason} .*→ replace the certificate, or fix`),
        ),
      ),
    );
  });
});

describe('a Redis over TLS', () => {
  it('is reached by a URL with a user, with an authority that the environment names', async () => {
    const redis = await startRedis({ tls: await authority.issue(), clientCertificates: false });
    try {
      expect(await ask(redis, 'ACL SETUSER shop on >s@cret ~* +@all')).toBe('+OK');
      const url = redis.url.replace('rediss://', 'rediss://shop:s%40cret@');
      const about = async (env: Readonly<Record<string, string>>) => {
        // Node reads the variable once, when a process starts.
        const doctor = new NestDqProcess(['doctor', '--json'], {
          env: { ...suite.env, DQ_REDIS: url, ...env },
          cwd: suite.folder,
        });
        await doctor.ended;
        const { checks } = JSON.parse(doctor.stdout) as {
          checks: Record<'level' | 'about' | 'fact', string>[];
        };
        return checks.filter(({ about }) => about === 'redis').map(({ level, fact }) => `${level}: ${fact}`);
      };
      expect(await about({ NODE_EXTRA_CA_CERTS: 'ca.pem' })).toContain('ok: is a master');
      expect(await about({})).toEqual([
        expect.stringMatching(
          "^failure: unusable from here: the server's certificate is from an untrusted authority",
        ),
      ]);
    } finally {
      await redis.stop();
    }
  });
});
