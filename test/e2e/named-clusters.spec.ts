import { beforeEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DelayedHandler,
  DqConsumer,
  DqModule,
  DqProducer,
  InjectDq,
  getDqToken,
  type DelayedJob,
  type DqError,
} from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { closedAfterEach } from '../support/suite.js';

const lines: string[] = [];
const log = (message: string) => void lines.push(message);
const logger = { log, warn: log, error: log };

@Injectable()
class Both {
  readonly ran: string[] = [];

  constructor(
    readonly plain: DqProducer,
    @InjectDq('mails') readonly mails: DqProducer,
    @InjectDq('mails', DqConsumer) readonly consumer: DqConsumer,
    @InjectDq('mails', DqDeadLetters) readonly dead: DqDeadLetters,
  ) {}

  @DelayedHandler('welcome')
  ofPlain(payload: string): void {
    this.ran.push(`plain ${payload}`);
  }

  @DelayedHandler('welcome', { cluster: 'mails', attempts: 1 })
  ofMails(payload: string, job: DelayedJob): void {
    this.ran.push(`mails ${payload} of ${job.attempts}`);
    if (payload === 'to nobody') throw new Error('no such address');
  }
}

const apps = closedAfterEach<TestingModule>();
beforeEach(() => {
  lines.length = 0;
});

async function start(imports: DynamicModule[], ...providers: Provider[]): Promise<TestingModule> {
  const app = await Test.createTestingModule({ imports, providers }).compile();
  apps.push(app);
  return app.init();
}

async function refusal(starting: Promise<unknown>): Promise<DqError> {
  return starting.then(
    () => {
      throw new Error('it started');
    },
    (error: DqError) => error,
  );
}

const plain = () => DqModule.forRoot({ logger });
const mails = () => DqModule.forRoot({ name: 'mails', logger });

describe('two clusters in one application', () => {
  it.each<[string, () => DynamicModule]>([
    ['forRoot', mails],
    ['forRootAsync', () => DqModule.forRootAsync({ name: 'mails', useFactory: async () => ({ logger }) })],
  ])('run each its own jobs, of the same tube too, when made by %s', async (_by, named) => {
    const app = await start([plain(), named()], Both);
    const both = app.get(Both);
    expect(both.plain).not.toBe(both.mails);
    await both.plain.now('welcome', 'Ada');
    await both.mails.now('welcome', 'Grace');
    await eventually('both ran', () => both.ran.length === 2);
    expect(both.ran.sort()).toEqual(['mails Grace of 1', 'plain Ada']);
  });

  it('have each their own injectables, which getDqToken names', async () => {
    const app = await start([plain(), mails()], Both);
    const both = app.get(Both);
    expect(app.get(getDqToken('mails'))).toBe(both.mails);
    expect(app.get(getDqToken('mails', DqConsumer))).toBe(both.consumer);
    expect(app.get(getDqToken('mails', DqDeadLetters))).toBe(both.dead);
    expect(getDqToken()).toBe(DqProducer);
    expect(getDqToken(undefined, DqConsumer)).toBe(DqConsumer);
  });

  it('show in each line which one it is about, unless it has no name', async () => {
    const app = await start([plain(), mails()], Both);
    await app.get(Both).mails.now('welcome', 'to nobody');
    await eventually('it is logged', () => lines.some((line) => line.includes('no such address')));
    expect(lines.filter((line) => line.includes('memory'))).toEqual([
      expect.stringMatching(/^jobs are stored in memory/),
      expect.stringMatching(/^\[mails\] jobs are stored in memory/),
    ]);
    expect(lines.at(-1)).toMatch(/^\[mails\] job \S+ of welcome failed in attempt 1 of 1/);
  });

  it('can both have names, and be of a module of their own', async () => {
    @Injectable()
    class Sender {
      readonly ran: string[] = [];
      constructor(@Inject(getDqToken('mails')) readonly dq: DqProducer) {}
      @DelayedHandler('send', { cluster: 'mails' })
      send(payload: string): void {
        this.ran.push(payload);
      }
    }
    @Module({ imports: [DqModule.forRoot({ name: 'mails', logger, isGlobal: false })], providers: [Sender] })
    class Mails {}
    const app = await start([DqModule.forRoot({ name: 'texts', logger }), { module: Mails }]);
    await app.get(Sender).dq.now('send', 'x');
    await eventually('it ran', () => app.get(Sender).ran.length === 1);
    const handler = app.get<DqConsumer>(getDqToken('texts', DqConsumer));
    await handler.consume('send', () => undefined);
  });

  it('end each on its own, when the application does', async () => {
    const app = await start([plain(), mails()], Both);
    const both = app.get(Both);
    await app.close();
    await expect(both.plain.now('welcome', 'late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await expect(both.mails.now('welcome', 'late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  });

  it('share nothing with those of another application in the process', async () => {
    const first = await start([plain(), mails()], Both);
    const second = await start([plain(), mails()], Both);
    await first.get(Both).mails.now('welcome', 'of the first');
    await second.get(Both).mails.now('welcome', 'of the second');
    await eventually('both ran', () => [first, second].every((app) => app.get(Both).ran.length === 1));
    expect(first.get(Both).ran).toEqual(['mails of the first of 1']);
    expect(second.get(Both).ran).toEqual(['mails of the second of 1']);
  });
});

describe('an application does not start', () => {
  it('with two modules of one name', async () => {
    const error = await refusal(
      start([plain(), mails(), DqModule.forRoot({ name: 'mails', logger, advanced: { lease: '5s' } })], Both),
    );
    expect(error.code).toBe('DQ_CONFIG');
    expect(error.message).toMatch(/imported 2 times with the name "mails", by \S+: expected once/);
  });

  it.each<[string, () => DynamicModule, RegExp]>([
    [
      'no module registers',
      plain,
      /Both\.ofMails \(in \w+\): its cluster is "mails", .* there is the unnamed one/,
    ],
    [
      'has a name, and no other',
      mails,
      /Both\.ofPlain .*its cluster is the unnamed one, .*; there is "mails"/,
    ],
  ])('with a handler of a cluster that %s', async (_that, dq, message) => {
    const fakes = [
      DqProducer,
      getDqToken('mails'),
      getDqToken('mails', DqConsumer),
      getDqToken('mails', DqDeadLetters),
    ];
    const Fakes = class Fakes {};
    const providers = fakes.map((provide) => ({ provide, useValue: {} }));
    const dqFakes = { module: Fakes, providers, exports: fakes };
    @Module({ imports: [dqFakes], providers: [Both] })
    class Feature {}
    const error = await refusal(start([dq(), { module: Feature }]));
    expect(error.code).toBe('DQ_CONFIG');
    expect(error.message).toMatch(message);
  });

  it('with an invalid name', () => {
    expect(() => DqModule.forRoot({ name: '' })).toThrow(/DQ_CONFIG: the cluster name is ""/);
    const five = 5 as unknown as string;
    expect(() => DqModule.forRootAsync({ name: five, useFactory: () => ({}) })).toThrow(
      /is 5: expected a non-empty string/,
    );
    expect(() => getDqToken(' ')).toThrow(/the cluster name is " "/);
    const type = Both as unknown as typeof DqProducer;
    expect(() => InjectDq('mails', type)).toThrow(/function Both cannot be injected from a cluster/);
  });

  it('with a name among what the factory returns', async () => {
    const useFactory = () => ({ name: 'mails', logger });
    const error = await refusal(start([DqModule.forRootAsync({ useFactory })]));
    expect(error.message).toMatch(/`name` identifies the cluster, so pass it next to `useFactory`/);
  });
});
