/**
 * Metrics and traces. Only this entry point requires the package `@opentelemetry/api`.
 * @module nest-kq/opentelemetry
 */
import type { Attributes } from '@opentelemetry/api';
import type { Pushed, PushResult } from '../api/message.js';
import type { KqClusterView, KqHooks, KqPushCall, KqRun } from '../events/hooks.js';
import { systemClock } from 'nest-handlers/time';
import { recordMetrics, type Measured } from './metrics.js';
import { GROUP, topicAttributes } from './names.js';
import { carryTrace, errorType, spanAroundPush, spanAroundRun } from './tracing.js';

/**
 * Returns hooks for metrics, spans and trace context: `KqModule.forRoot({ hooks: [openTelemetry()] })`, one per cluster. Uses
 * the providers and the propagator registered with OpenTelemetry before the application starts, and does nothing if there are
 * none. docs/kq/observability.md lists all names.
 */
export function openTelemetry(): KqHooks {
  let measured: Measured | undefined;
  let ofCluster: Attributes = {};
  let ofClient: Attributes = {};

  return {
    onPush: carryTrace,

    aroundPush<T extends Pushed | PushResult[]>(call: KqPushCall, next: () => Promise<T>): Promise<T> {
      const attributes = { ...topicAttributes(call.topic, 'send'), ...ofCluster };
      const ended = timing((seconds, error) => measured?.pushed(seconds, { ...attributes, ...error }));
      return spanAroundPush(call, { ...ofClient, ...ofCluster }, next, ended);
    },

    aroundHandler(run: KqRun, next: () => unknown): Promise<unknown> {
      const { topic } = run.messages[0]!;
      const attributes = { ...topicAttributes(topic, 'process'), [GROUP]: run.group, ...ofCluster };
      measured?.called(run.messages.length, attributes);
      const ended = timing((seconds, error) => measured?.ran(seconds, { ...attributes, ...error }));
      return spanAroundRun(run, { ...ofClient, ...ofCluster }, next, ended);
    },

    onStart(view: KqClusterView) {
      ofCluster = view.name === undefined ? {} : { 'kq.cluster': view.name };
      ofClient = { 'messaging.client.id': view.clientId };
      measured = recordMetrics(view, ofCluster);
      return () => measured?.stop();
    },
  };
}

/** Returns a callback that reports the elapsed time, and the type of the error, if any. */
function timing(tell: (seconds: number, error: Attributes) => void): (error: Error | undefined) => void {
  const begin = systemClock.now();
  return (error) =>
    tell((systemClock.now() - begin) / 1_000, error ? { 'error.type': errorType(error) } : {});
}
