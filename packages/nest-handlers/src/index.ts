/**
 * Building blocks for a library whose users decorate methods of providers and controllers as handlers.
 * @module nest-handlers
 */
export { HandlersModule } from './handlers-module.js';
export { NestParts } from './nest-parts.js';
export { ClusterLifecycle, type ClusterRuntime } from './cluster-lifecycle.js';
export { clusterModule, type ClusterExtras, type ClusterModuleParts } from './cluster-module.js';
export { ClusterTokens, type ClusterKind } from './cluster-tokens.js';
export { RunPhase, type RunPhaseMember } from './run-phase.js';
export type { Handler, HandlerKind } from './handler-kind.js';
export { HandlerMarks, MethodMarks, type HandlerDescriptor } from './method-marks.js';
export {
  MarkedMethods,
  type ClusterNames,
  type FoundMethod,
  type MarkOfCluster,
  type NestModule,
} from './marked-methods.js';
export { ListenerExplorer, type Listen, type ListenerMark } from './listener-explorer.js';
export { HandlerInvoker } from './handler-invoker.js';
export { itemParameter, payloadParameter } from './parameters.js';
