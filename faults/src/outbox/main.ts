// A process with an outbox: a Nest application like that of a user. It writes jobs in transactions, or relays them.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule, type DqOptions } from 'nest-dq';
import { DqOutbox, DqOutboxModule, type OutboxValue } from 'nest-dq/outbox';
import { Client, Pool } from 'pg';
import { LogWriter, type Schedule } from '../log.js';
import { TASKS } from '../task.js';
import type { STEPS } from './steps.js';

export interface OutboxArguments {
  readonly name: string;
  /** Path of its log: the jobs whose transactions it was about to commit. */
  readonly log: string;
  readonly options: DqOptions;
  readonly database: string;
  /** @default it writes, and doesn't relay */
  readonly relays?: { readonly dies?: (typeof STEPS)[number] };
}

/** Asks a writer to write these jobs, each in a transaction. */
export interface Writing {
  readonly from: number;
  readonly count: number;
  /** When delayed jobs are due. */
  readonly due: number;
}

/** Writing connections of a process. */
const CONNECTIONS = 8;
/** The batch in which a relay dies. */
const DIES_IN = 3;

const { name, log: path, options, database, relays } = JSON.parse(process.argv[2]!) as OutboxArguments;
const log = new LogWriter<Schedule>(path);
const pool = new Pool({ connectionString: database, max: CONNECTIONS, application_name: name });
pool.on('error', () => undefined); // an idle connection that the server ends; the next query has another one
let batches = 0;

const die = () => process.kill(process.pid, 'SIGKILL');

/** The relay's statements, and its death. */
async function query(sql: string, values: readonly OutboxValue[]): Promise<unknown> {
  const dies = relays?.dies;
  const claims = sql.startsWith('WITH picked');
  const deletes = sql.startsWith('DELETE');
  const doomed = batches >= DIES_IN;
  if (doomed && dies === 'added' && deletes) die();
  const { rows } = await pool.query<Record<string, unknown>>(sql, [...values]);
  if (claims && rows.length > 0) batches++;
  if (batches < DIES_IN) return rows;
  if (dies === 'claimed' && claims) die();
  if (dies === 'noted' && sql.includes('SET born_before')) die();
  if (dies === 'adding' && sql.includes('SET born_before')) setTimeout(die, batches % 7);
  if (dies === 'deleted' && deletes) die();
  return rows;
}

@Module({
  imports: [
    DqModule.forRoot(options),
    DqOutboxModule.forRoot({
      dialect: 'postgres',
      database: query,
      relay: relays !== undefined,
      listen: () => new Client(database),
      batch: 20,
    }),
  ],
})
class OutboxProcessModule {}

process.on('disconnect', die); // the process that started it is gone
const app = await NestFactory.createApplicationContext(OutboxProcessModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
const outbox = app.get(DqOutbox);
process.on('message', (writing: Writing) => void write(writing));
process.send!('ready');

async function write({ from, count, due }: Writing): Promise<void> {
  let next = from;
  const inTurn = async () => {
    while (next < from + count) await place(next++, due);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, inTurn));
}

/** A third of the jobs are due now, a third later, and a third later with a key. Every tenth is rolled back. */
async function place(job: number, due: number): Promise<void> {
  const tx = await pool.connect();
  try {
    await tx.query('BEGIN');
    await tx.query('INSERT INTO placed VALUES ($1)', [job]);
    const askedAt = Date.now();
    const task = { job, generation: 0, acts: [] };
    const receipt =
      job % 3 === 0
        ? await outbox.now(tx, TASKS, task)
        : await outbox.at(tx, TASKS, task, due, { allowPast: true, ...(job % 3 === 1 && { key: `${job}` }) });
    log.write({
      what: 'schedule',
      job,
      generation: 0,
      due: receipt.dueAt.getTime(),
      askedAt,
      at: Date.now(),
      answer: 'stored',
    });
    await tx.query(job % 10 === 9 ? 'ROLLBACK' : 'COMMIT');
  } finally {
    tx.release();
  }
}
