import { Redis } from 'ioredis';
import { percentile } from 'test-servers';
import { atMost } from '../../experiment.js';
import type { Attack } from '../attack.js';
import { atPace } from '../../waiting.js';
import { TUBES } from '../workload.js';

const TUBE = TUBES[0];
const RECORDS = `{${TUBE}}:*`;
/** Prefix of the tube's keys other than the records of its jobs. */
const OF_TUBE = `{${TUBE}}::`;
const PRESENCE = '{:}:*';
/** Lua: writes a record as the library does. */
const PACK = "redis.call('SET', KEYS[1], cmsgpack.pack(cjson.decode(ARGV[1])))";

/**
 * A client of Redis that deletes, overwrites and forges what the ledger knows of one tube, and what processes know of each other. It also
 * stores copies that are not sealed, and those of jobs that are over, whose ends it has made the ledger forget.
 */
export const redis: Attack = {
  number: 10,
  name: 'redis',
  what: 'in Redis: records deleted, overwritten, forged; ends forgotten and their copies stored again; garbage in all other keys',
  passes: 'nothing unsealed runs, nothing is early, no payload is in Redis; other tubes keep running',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const { times, attacker, signal } = lab;
    const client = new Redis(lab.redisUrl);
    await lab.owned({ stop: () => client.disconnect() });
    const copies = (await lab.waitingCopies()).filter(({ tube }) => tube === TUBE);
    const rounds = lab.pick(20, 100);
    const steady = { from: times.at(0.1), to: times.at(0.8), signal };
    let changed = 0;
    await atPace(rounds, steady, async (round) => {
      const keys = (await client.keys(RECORDS)).filter((key) => !key.startsWith(OF_TUBE));
      for (const [i, key] of keys.entries()) {
        if ((i + round) % 7 !== 0) continue;
        await corrupt(client, key, changed++);
      }
      if (round % 5 === 4) await corruptTube(client, round);
      const forged = `dq1 {"id":"forged-${round}","due":1,"n":1,"i":0}\n{"job":"forged"}`;
      await attacker.store(TUBE, [forged]);
    });
    await remove(client, PRESENCE);
    await remove(client, RECORDS);
    await lab.until(times.end);
    const jobs = lab.jobsOf(TUBE);
    await lab.allRan(jobs);
    await remove(client, RECORDS); // so that the ledger has forgotten what is over
    const bodies = copies.slice(0, lab.pick(30, 300)).map(({ body }) => body);
    await attacker.store(TUBE, bodies, { valid: true });
    const late = percentile(lab.latenessBeside(TUBE), 0.95);
    return {
      allows: { jobs },
      checks: [atMost('p95 lateness of the other tubes', late, lab.pick(5_000, 2_000), ' ms')],
      notes: [`${changed} records changed; p95 lateness of the other tubes: ${late} ms`],
    };
  },
};

async function corrupt(client: Redis, key: string, turn: number): Promise<void> {
  const now = Date.now();
  const forged = [
    { state: 'd' },
    { state: 'w', due: 1 },
    { state: 'r', due: 1, fence: 1, leaseEnd: now + 2_000 },
    { state: 'v', floor: now },
    { state: 'x', born: 'x', committed: [] },
    [1, 2, 3],
  ];
  const kind = turn % (forged.length + 4);
  if (kind < forged.length) await client.eval(PACK, 1, key, JSON.stringify(forged[kind]));
  else if (kind === forged.length) await client.del(key);
  else if (kind === forged.length + 1) await client.set(key, 'rubbish');
  else if (kind === forged.length + 2) await client.set(key, '\xff'.repeat(1_000));
  else await client.multi().del(key).lpush(key, 'a list').exec();
}

/** Deletes each key of the tube and of the processes except the records, or gives it another type. */
async function corruptTube(client: Redis, round: number): Promise<void> {
  for (const key of [...(await client.keys(`${OF_TUBE}*`)), ...(await client.keys(PRESENCE))]) {
    if (round % 10 === 4) await client.multi().del(key).lpush(key, 'rubbish').exec();
    else await client.del(key);
  }
}

async function remove(client: Redis, pattern: string): Promise<void> {
  const keys = await client.keys(pattern);
  if (keys.length > 0) await client.del(...keys);
}
