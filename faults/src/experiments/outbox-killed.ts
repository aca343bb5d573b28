import { join } from 'node:path';
import { startPostgres } from 'test-servers';
import { outboxMigration } from 'nest-dq/outbox';
import { Pool } from 'pg';
import { atLeast, none, type Experiment } from '../experiment.js';
import { LoggedProcess } from '../logged-process.js';
import type { Schedule } from '../log.js';
import { STEPS } from '../outbox/steps.js';
import type { OutboxArguments, Writing } from '../outbox/main.js';

/** Milliseconds until the jobs with a time are due, from the begin of their round. */
const LATER = 5_000;

/**
 * Jobs are written in transactions and relayed. In each round the writing process is killed in the middle of its work, and one of
 * two relays kills itself at one step of a batch; every few rounds a node and Redis are killed and start again, and PostgreSQL
 * crashes once. What was committed has to run once, and nothing else may run. Rows of a relay that is dead are given to the others
 * at once, as if their lease was over.
 */
export const outboxKilled: Experiment = {
  number: 35,
  name: 'outbox-killed',
  what: 'writers and relays of an outbox killed at each step; a node, Redis and PostgreSQL killed, too',
  passes: 'each committed row is one job that runs once, and none of a rollback runs',
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    const server = await lab.owned(startPostgres());
    const pool = new Pool({ connectionString: server.url });
    pool.on('error', () => undefined); // the server is killed
    await lab.owned({ stop: () => pool.end() });
    await pool.query('CREATE TABLE placed (job integer)');
    for (const statement of outboxMigration('postgres')) await pool.query(statement);
    await lab.startServers();
    await lab.startConsumer();
    await lab.startConsumer();

    let started = 0;
    const start = (relays?: OutboxArguments['relays']) => {
      const name = `outbox-${++started}`;
      const how: Omit<OutboxArguments, 'log'> = {
        name,
        options: { ...lab.options, handlers: {} },
        database: server.url,
        ...(relays && { relays }),
      };
      return lab.owned(LoggedProcess.start<Schedule>(join('outbox', 'main.js'), lab.folder, how));
    };
    const rows = async () => Number((await pool.query('SELECT count(*) AS n FROM nest_dq_outbox')).rows[0].n);
    /** Gives the rows of dead relays back. The claims of those that live are unknown here, so all are tried again. */
    const giveBack = () => pool.query('UPDATE nest_dq_outbox SET next_at = 0');

    const writers: LoggedProcess<Schedule>[] = [];
    let died = 0;
    const rounds = lab.pick(STEPS.length, 4 * STEPS.length);
    const perRound = Math.ceil(lab.jobs / rounds);
    await start({});
    for (let round = 0; round < rounds; round++) {
      const doomed = await start({ dies: STEPS[round % STEPS.length]! });
      const writer = await start();
      writers.push(writer);
      const from = round * perRound;
      const writing: Writing = { from, count: perRound, due: Date.now() + LATER };
      writer.tell(writing);
      const written: Schedule[] = [];
      const most = Math.floor(perRound * 0.9);
      await lab.eventually('most of the jobs of this round are written', () => {
        written.push(...writer.read());
        return written.length >= most;
      });
      await writer.end('SIGKILL');
      written.push(...writer.read());
      await lab.eventually('PostgreSQL has ended what the writer left in its connections', async () => {
        const sql = 'SELECT FROM pg_stat_activity WHERE application_name = $1';
        return (await pool.query(sql, [writer.name])).rowCount === 0;
      });
      const { rows: placed } = await pool.query<{ job: number }>('SELECT job FROM placed WHERE job >= $1', [
        from,
      ]);
      const committed = new Set(placed.map(({ job }) => job));
      for (const each of written)
        lab.note(committed.has(each.job) ? each : { ...each, answer: 'refused', code: 'ROLLBACK' });
      if (round % 5 === 1) await lab.beanstalkds[round % lab.beanstalkds.length]!.restart();
      if (round % 5 === 2) await lab.redis.restart();
      if (round === 3) await server.restart();
      await lab.eventually('the relay died, or nothing is left to relay', async () => {
        await giveBack().catch(() => undefined); // PostgreSQL has just started
        return !doomed.alive || (await rows()) === 0;
      });
      if (!doomed.alive) died++;
      else await doomed.end('SIGKILL');
    }
    await giveBack();
    await lab.eventually('all rows are relayed', async () => (await rows()) === 0);
    const found = await lab.settle();
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        atLeast('relays that died at their step', died, Math.ceil(rounds / 2)),
      ],
      notes: [`${died} of ${rounds} relays died at their step; ${writers.length} writers were killed`],
    };
  },
};
