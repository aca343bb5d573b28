import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { Note, NOTES, OnNote, noteMarks } from '../spec-support/notes.js';
import { ClusterLifecycle } from './cluster-lifecycle.js';
import { clusterModule } from './cluster-module.js';
import { ClusterTokens, type ClusterKind } from './cluster-tokens.js';
import { MarkedMethods, type ClusterNames, type FoundMethod, type NestModule } from './marked-methods.js';
import { MethodMarks } from './method-marks.js';
import type { NestParts } from './nest-parts.js';
import type { ListenerMark } from './listener-explorer.js';
import type { RunPhase } from './run-phase.js';

// A library with clusters: its lifecycle only tells its steps.

const KIND: ClusterKind<Note> = {
  ...NOTES,
  library: 'notes',
  asConfigError: (_where, check) => check(),
  show: (value) => JSON.stringify(value),
};
const listenerMarks = new MethodMarks<ListenerMark>(KIND, 'listeners');

class Pen {}
class Paper {}
const tokens = new ClusterTokens(KIND, { pen: Pen, paper: Paper });

interface Options {
  consume?: boolean;
  durable?: boolean;
}

let told: string[] = [];
const tell = (line: string) => void told.push(line);

class Runtime {
  readonly pen = new Pen();
  readonly paper = new Paper();
  readonly events = { listen: () => undefined };
  readonly options;

  constructor(
    { consume = true, durable = true }: Options,
    readonly name?: string,
  ) {
    this.options = { consume, durable, logger: { log: tell, warn: tell, error: tell } };
  }

  async close() {
    tell('close');
  }
}

class Lifecycle extends ClusterLifecycle<Runtime, FoundMethod> {
  private readonly methods;

  constructor(runtime: Runtime, phase: RunPhase, nest: NestParts) {
    super(runtime, phase, nest, tokens, listenerMarks);
    this.methods = new MarkedMethods(nest, noteMarks, runtime.name);
  }

  protected advise() {
    if (!this.runtime.options.durable) this.warnOfMemory('`durable` stores them');
    tell('advise');
  }

  protected take(clusters: ClusterNames, modules?: ReadonlySet<NestModule>) {
    tell('take');
    return Array.from(this.methods.find(clusters, modules), ([found]) => found);
  }

  protected open() {
    tell('open');
  }

  protected start() {
    tell('start');
  }

  protected async run(handlers: readonly FoundMethod[]) {
    tell(`run ${handlers.map(({ key }) => String(key)).join(', ')}`);
  }

  protected sourcesOf({ key }: FoundMethod) {
    return [key];
  }

  protected async stop() {
    tell('stop');
  }
}

@Module({})
class NoteClusterModule {}

const notes = clusterModule(tokens, {
  name: 'Note',
  module: NoteClusterModule,
  optionNames: ['consume', 'durable'],
  environment: { provide: 'notes:environment', useValue: undefined },
  runtime: (options: Options, _environment: undefined, cluster) => new Runtime(options, cluster),
  lifecycle: Lifecycle,
});

@Injectable()
class Reader {
  @OnNote('tea')
  tea(): void {}

  @OnNote('cake')
  cake(): void {}
}

@Injectable()
class Late {
  @OnNote('late')
  late(): void {}
}

@Module({ providers: [Late] })
class LateModule {}

let app: TestingModule | undefined;

async function start(imports: DynamicModule[], ...providers: (new () => object)[]): Promise<TestingModule> {
  app = await Test.createTestingModule({ imports, providers }).compile();
  return app.init();
}

afterEach(async () => {
  await app?.close();
  app = undefined;
  told = [];
});

describe('the lifecycle of a cluster', () => {
  it('goes through its steps in order, and once through its end', async () => {
    await start([notes.forRoot({})], Reader);
    expect(told.splice(0)).toEqual(['advise', 'take', 'open', 'start', 'run tea, cake']);
    await app!.close();
    app = undefined;
    expect(told).toEqual(['stop', 'close']);
  });

  it('runs what a module brings that is loaded lazily', async () => {
    await start([notes.forRoot({})], Reader);
    told = [];
    await app!.get(LazyModuleLoader).load(() => LateModule);
    expect(told).toEqual(['take', 'run late']);
  });

  it('takes nothing of modules that are loaded after its end', async () => {
    await start([notes.forRoot({})]);
    const loader = app!.get(LazyModuleLoader);
    await app!.close();
    app = undefined;
    told = [];
    await loader.load(() => LateModule);
    expect(told).toEqual([]);
  });

  it('only says what it does not run without `consume`', async () => {
    await start([notes.forRoot({ consume: false })], Reader);
    expect(told.at(-1)).toBe('not consuming tea, cake in this process: `consume` is false');
  });

  it('warns of memory, and refuses it in production', async () => {
    await start([notes.forRoot({ durable: false })]);
    expect(told[0]).toMatch(/^notes are stored in memory: they are lost when .*; `durable` stores them$/);
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      await expect(start([notes.forRoot({ durable: false })])).rejects.toThrow(
        'NOTES: NODE_ENV is production, but no option sets where notes are stored',
      );
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });

  it.each([undefined, 'a'])('refuses a second one of its name, here %s', async (name) => {
    await expect(start([notes.forRoot({ name }), notes.forRoot({ name, consume: false })])).rejects.toThrow(
      `NOTES: NoteModule.forRoot or forRootAsync is imported 2 times ${name ? 'with the name "a"' : 'without a name'}`,
    );
  });
});

describe('the parts of a cluster', () => {
  it('are shared with no other cluster', async () => {
    await start([notes.forRoot({}), notes.forRoot({ name: 'a' }), notes.forRoot({ name: 'b' })]);
    expect(app!.get(tokens.checked(Pen))).toBe(app!.get(Pen));
    expect(app!.get(tokens.checked(Pen, 'a'))).toBeInstanceOf(Pen);
    expect(app!.get(tokens.checked(Pen, 'a'))).not.toBe(app!.get(Pen));
    expect(app!.get(tokens.checked(Pen, 'a'))).not.toBe(app!.get(tokens.checked(Pen, 'b')));
    expect(app!.get(tokens.checked(Paper, 'a'))).toBeInstanceOf(Paper);
  });

  it.each<[string, () => unknown, string]>([
    [
      'another class',
      () => tokens.checked(Note as never),
      'undefined cannot be injected from a cluster: expected one of Pen, Paper',
    ],
    [
      'a name without letters',
      () => tokens.checked(Pen, ' '),
      'the cluster name is " ": expected a non-empty string',
    ],
    [
      'such a name of a module',
      () => notes.forRoot({ name: '' }),
      'the cluster name is "": expected a non-empty string',
    ],
    [
      'no options',
      () => notes.forRoot(null as never),
      'NoteModule.forRoot got null: expected an options object or nothing',
    ],
    [
      'an option next to the factory',
      () => notes.forRootAsync({ useFactory: () => ({}), durable: true } as never),
      'forRootAsync got `durable`, which belongs in the options its factory returns',
    ],
  ])('refuse %s', (_what, call, message) => {
    expect(call).toThrow(`NOTES: ${message}`);
  });

  it('refuse an import of the module itself', async () => {
    @Module({ imports: [notes.withoutOptions] })
    class NoteModule {}
    await expect(Test.createTestingModule({ imports: [NoteModule] }).compile()).rejects.toThrow(
      'NOTES: `imports` lists NoteModule itself: expected NoteModule.forRoot(…)',
    );
  });
});
