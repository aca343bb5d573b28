import { SetMetadata, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { HandlersModule } from '../src/handlers-module.js';
import type { Handler, HandlerKind } from '../src/handler-kind.js';
import { HandlerInvoker } from '../src/handler-invoker.js';
import { MarkedMethods, type ClusterNames, type FoundMethod } from '../src/marked-methods.js';
import { HandlerMarks } from '../src/method-marks.js';
import { NestParts } from '../src/nest-parts.js';

// A small library of handlers, for specs: its methods take notes.

/** The item its handlers take along with the payload. */
export class Note {
  /** The handler that an interceptor did not wait for. */
  abandoned: Promise<unknown> | undefined;

  constructor(readonly author = 'ann') {}
}

/** Its only outcome. */
export class Skip extends Error {}

export const NOTES: HandlerKind<Note> = {
  context: 'note',
  contextCheck: 'isNoteContext',
  module: 'NoteModule',
  item: 'note',
  parameters: '@Text(), @CurrentNote()',
  configError: (message) => new Error(`NOTES: ${message}`),
  readError: (thrown) => (thrown instanceof Error ? thrown : { message: String(thrown) }),
  isOutcome: (value) => value instanceof Skip,
  abandon(note, handler) {
    note.abandoned = handler;
  },
};

interface NoteMark {
  readonly about: string;
  readonly options: { readonly cluster?: unknown };
}

export const noteMarks = new HandlerMarks<NoteMark>(NOTES, 'handlers');

/** Its decorator: the method takes the notes about something. */
export function OnNote(about: string, options: { cluster?: unknown } = {}): MethodDecorator {
  return (target, method, descriptor) =>
    noteMarks.add({ about, options }, `@OnNote(${about})`, target, method, descriptor);
}

/** Marks a handler for an application's own guards. */
export const NotePublic = () => SetMetadata('isPublic', true);

export function compile(metadata: ModuleMetadata): Promise<TestingModule> {
  const imports = [...(metadata.imports ?? []), HandlersModule];
  return Test.createTestingModule({ ...metadata, imports }).compile();
}

/** Returns the methods found for a cluster, sorted by what the notes are about. */
export async function find(
  metadata: ModuleMetadata,
  cluster?: string,
  clusters: ClusterNames = [cluster],
): Promise<{ readonly found: FoundMethod; readonly about: string }[]> {
  const nest = (await compile(metadata)).get(NestParts);
  const methods = new MarkedMethods(nest, noteMarks, cluster).find(clusters);
  return Array.from(methods, ([found, { about }]) => ({ found, about })).sort((a, b) =>
    a.about < b.about ? -1 : 1,
  );
}

/** The handlers of an application, by what the notes are about, and what they logged. */
export async function bind(
  metadata: ModuleMetadata,
): Promise<{ handlers: Record<string, Handler<Note>>; warnings: string[] }> {
  const app = await (await compile(metadata)).init();
  const nest = app.get(NestParts);
  const warnings: string[] = [];
  const invoker = new HandlerInvoker(nest, NOTES, { warn: (message: string) => warnings.push(message) });
  const methods = [...new MarkedMethods(nest, noteMarks).find([undefined])];
  const handlers = Object.fromEntries(methods.map(([found, { about }]) => [about, invoker.bind(found)]));
  invoker.advise();
  return { handlers, warnings };
}
