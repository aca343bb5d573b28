/** The name of our tracer and our meter. */
export const SCOPE = 'nest-dq';

/** The conventions' attributes of a tube: https://opentelemetry.io/docs/specs/semconv/messaging/ */
export function tubeAttributes(tube: string, operation: 'schedule' | 'process') {
  return {
    'messaging.system': 'nest_dq',
    'messaging.destination.name': tube,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation === 'schedule' ? 'send' : 'process',
  };
}
