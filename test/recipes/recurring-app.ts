import { afterEach } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DqModule,
  Recurring,
  type DelayedJob,
  type DqOptions,
  type RecurrencePlan,
  type RecurringOptions,
} from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';

export const REPORT = 'report';
export const Series = { tube: REPORT, key: 'recurring' };

export const lines: string[] = [];
const log = (message: string) => void lines.push(message);
const logger = { log, warn: log, error: log };
const kits: DqTestKit[] = [];
const apps: TestingModule[] = [];

afterEach(async () => {
  lines.length = 0;
  for (const app of apps.splice(0)) await app.close();
  for (const kit of kits.splice(0)) await kit.close();
});

export function kitAt(now: string, nodes = 3): DqTestKit {
  const kit = new DqTestKit({ now: new Date(now), nodes });
  kits.push(kit);
  return kit;
}

/** The return value of an occurrence. Undefined if it goes well. */
type Outcome = (job: DelayedJob, nth: number) => unknown;

/** A version of the application: a class with one series, which notes its runs. */
export function version(plan: RecurrencePlan, options?: RecurringOptions, outcome?: Outcome) {
  @Injectable()
  class Reports {
    readonly runs: DelayedJob[] = [];

    @Recurring(REPORT, plan, options)
    async nightly(_payload: undefined, job: DelayedJob): Promise<unknown> {
      this.runs.push(job);
      return outcome?.(job, this.runs.length);
    }

    get ranAt(): string[] {
      return this.runs.map(({ dueAt, lateness }) => new Date(dueAt.getTime() + lateness).toISOString());
    }
  }
  return Reports;
}
export type Reports = InstanceType<ReturnType<typeof version>>;

export async function start(
  kit: DqTestKit,
  Reports: Type<Reports>,
  options: DqOptions = {},
  isStatic = true,
): Promise<{ app: TestingModule; reports: Reports }> {
  const imports = [DqModule.forRoot({ logger, ...options })];
  const app = await kit.override(Test.createTestingModule({ imports, providers: [Reports] })).compile();
  apps.push(app);
  await app.init();
  return { app, reports: isStatic ? app.get<Reports>(Reports) : ({} as Reports) };
}

export async function stop(app: TestingModule): Promise<void> {
  apps.splice(apps.indexOf(app), 1);
  await app.close();
}

/** As in production, where each process looks after its series every minute: in one stretch the kit leaps over them. */
export async function passMinutes(kit: DqTestKit, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) await kit.advance('1m');
}

export const nightly = (tz?: string) => version('0 3 * * *', tz === undefined ? {} : { tz });
export const due = (kit: DqTestKit) => kit.scheduled(REPORT).map(({ dueAt }) => dueAt.toISOString());
