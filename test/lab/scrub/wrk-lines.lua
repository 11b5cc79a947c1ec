-- For wrk: each connection asks ten times a second; a line for each response, and at the end one for what had none.
function delay() return 100 end
function response(status)
  io.write(status, "\n")
  io.flush()
end
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  io.write("failed ", failed, " median ", latency:percentile(50) / 1000, " slowest ", latency.max / 1000, "\n")
end
