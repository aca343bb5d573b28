import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedHandler, DqModule, type DelayedJob, type DqOptions } from 'nest-dq';
import type { DqTestKit } from 'nest-dq/testing';
import { afterEach } from '@jest/globals';

export const TUBE = 'reminder.send';
const apps: TestingModule[] = [];
export const warnings: string[] = [];
const warn = (message: string) => void warnings.push(message);
const logger = { log: () => undefined, warn, error: warn };

afterEach(async () => {
  warnings.length = 0;
  for (const app of apps.splice(0)) await app.close();
});

/** The handler of the tube. */
export type Outcome = (job: DelayedJob) => unknown;

/** An application whose handler notes when it ran, for which payload. */
export async function startSeriesApp(kit: DqTestKit, outcome?: Outcome, options: DqOptions = {}) {
  const runs: string[] = [];

  @Injectable()
  class Reminders {
    @DelayedHandler(TUBE, { attempts: 1 })
    send(payload: unknown, job: DelayedJob): unknown {
      const at = new Date(job.dueAt.getTime() + job.lateness).toISOString().slice(5, 16);
      runs.push(payload === undefined ? at : `${at} ${JSON.stringify(payload)}`);
      return outcome?.(job);
    }
  }
  const imports = [DqModule.forRoot({ logger, ...options })];
  const app = await kit.override(Test.createTestingModule({ imports, providers: [Reminders] })).compile();
  apps.push(app);
  await app.init();
  return { app, runs };
}
