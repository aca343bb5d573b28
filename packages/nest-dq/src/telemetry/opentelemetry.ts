/**
 * Metrics and traces. Only this entry point needs the package `@opentelemetry/api`.
 * @module nest-dq/opentelemetry
 */
import type { DqHooks } from '../events/hooks.js';
import { recordMetrics } from './metrics.js';
export { recordOutbox, type RecordedOutbox } from './outbox-metrics.js';
import { carryTrace, spanAround } from './tracing.js';

/**
 * Returns hooks for metrics, spans and trace context: `DqModule.forRoot({ hooks: [openTelemetry()] })`. Uses the providers and
 * the propagator registered with OpenTelemetry before the application starts; does nothing if none is registered.
 * docs/observability.md lists all names.
 */
export function openTelemetry(): DqHooks {
  return { onSchedule: carryTrace, aroundHandler: spanAround, onStart: recordMetrics };
}
