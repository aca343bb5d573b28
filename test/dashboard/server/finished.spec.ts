// Finished jobs, as the page gets them.
import { Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { DelayedHandler, DqProducer } from 'nest-dq';
import type { DqDashboardExtras, DqDashboardOptions } from 'nest-dq/dashboard';
import { eventually } from 'test-servers';
import { ServedApp } from './served-app.js';

const TUBE = 'orders';

@Injectable()
class Work {
  @DelayedHandler(TUBE, { keepDone: { for: '1h' } })
  work(payload: unknown): unknown {
    return { charged: payload };
  }
}

async function served(dashboard: DqDashboardOptions & DqDashboardExtras = {}): Promise<ServedApp> {
  const app = await ServedApp.start({ dashboard, providers: [Work] });
  const producer = app.app.get(DqProducer);
  for (const key of ['order-1', 'order-2', 'order-3']) {
    const receipt = await producer.now(TUBE, key, { key });
    await eventually('it is done', async () => (await producer.find(receipt))?.state === 'done');
  }
  return app;
}

describe('the list of finished jobs', () => {
  it('has the newest first, by pages, without results', async () => {
    const app = await served();
    const first = await app.get(`/dq/api/tubes/${TUBE}/finished?limit=2`);
    expect(first.json).toEqual({
      jobs: ['order-3', 'order-2'].map((key) => ({
        id: expect.any(String),
        key,
        tube: TUBE,
        endedAt: expect.any(String),
        took: expect.any(Number),
        process: expect.any(String),
        attempt: 1,
      })),
      cursor: expect.any(String),
    });
    const next = await app.get(`/dq/api/tubes/${TUBE}/finished?limit=2&cursor=${first.json.cursor}`);
    expect(next.json.jobs).toMatchObject([{ key: 'order-1' }]);
    expect(next.json).not.toHaveProperty('cursor');
    const [newest] = first.json.jobs;
    const from = await app.get(`/dq/api/tubes/${TUBE}/finished?to=${newest.endedAt}`);
    expect(from.json.jobs.map(({ key }: { key: string }) => key)).not.toContain('order-3');
  });

  it('refuses a wrong cursor, and an unknown field', async () => {
    const app = await served();
    const cursor = await app.get(`/dq/api/tubes/${TUBE}/finished?cursor=x`);
    expect([cursor.status, cursor.json.code]).toEqual([400, 'DQ_BAD_OPTION']);
    const unknown = await app.get(`/dq/api/tubes/${TUBE}/finished?since=x`);
    expect(unknown.status).toBe(400);
  });
});

describe('the result of a finished job', () => {
  const jobOf = async (app: ServedApp) => (await app.get(`/dq/api/job?tube=${TUBE}&key=order-1`)).json;

  it('is with the job for viewers who may see payloads', async () => {
    const job = await jobOf(await served());
    expect(job.finished).toMatchObject({ key: 'order-1', result: { charged: 'order-1' } });
  });

  it.each([
    ['where `redact` hides parts of payloads', { redact: (payload: unknown) => payload }],
    ['from viewers who may not see payloads', { access: () => 'read' }],
  ])('is kept %s', async (_, dashboard) => {
    const job = await jobOf(await served(dashboard as DqDashboardOptions));
    expect(job.finished).toMatchObject({ key: 'order-1', attempt: 1 });
    expect(job.finished).not.toHaveProperty('result');
  });
});
