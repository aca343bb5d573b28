import { Proxy, startRedis } from 'test-servers';
import { noneBut, type Experiment } from '../experiment.js';
import { recoveryTime, runsDuring } from '../measures.js';

/** Milliseconds between the cut of the replica and the kill of the master. What the master writes then is lost. */
const LOST_WRITES = 200;
/** Milliseconds. If a run ended so shortly before, its completion may be lost, and its copies may not be deleted yet. */
const JUST_ENDED = 1_000;

/**
 * A real replica follows the master. It is promoted while clients still write to the old master. Then the old master is
 * killed, and the address that clients know leads to the new master.
 * Recovery: from the moment when that address answers again until no job is overdue.
 */
export const redisFailover: Experiment = {
  number: 17,
  name: 'redis-failover',
  what: 'a failover of Redis that loses its last 200 ms of writes',
  passes: 'duplicates only of jobs that were in flight',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    await lab.startServers();
    const master = lab.redis;
    await lab.withRedis((redis) => redis.config('SET', 'repl-diskless-sync-delay', '0'));
    const args = ['--replicaof', master.host, String(master.port)];
    const replica = await lab.owned(startRedis({ args }));
    const address = await lab.owned(Proxy.to(master));
    const producer = await lab.startApplications(3, { redis: `redis://${address.endpoint}` });
    const times = lab.timetable();

    await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs), acts: [{ ms: (i % 5) * 50 }] }));
    await lab.until(times.at(0.4));
    await lab.eventually('the replica follows', () =>
      lab.withRedis(
        async (redis) => (await redis.info('replication')).includes('master_link_status:up'),
        replica.url,
      ),
    );
    const cutOff = Date.now();
    await lab.withRedis((redis) => redis.replicaof('NO', 'ONE'), replica.url);
    await lab.until(Date.now() + LOST_WRITES);
    await master.kill();
    address.lead(replica);
    lab.redisUrl = replica.url;
    const over = Date.now();
    await lab.eventually('the runs of that time ended', () =>
      runsDuring(lab.history, cutOff - JUST_ENDED, over).every(({ end }) => end),
    );

    const found = await lab.settle();
    const inFlight = new Set(runsDuring(lab.history, cutOff - JUST_ENDED, over).map(({ job }) => job));
    return {
      found,
      recovery: recoveryTime(lab.history, over),
      checks: [noneBut('duplicates of jobs that were not in flight', found.duplicates, inFlight)],
    };
  },
};
