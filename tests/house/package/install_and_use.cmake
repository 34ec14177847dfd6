# Installs the built tree into an empty prefix, moves that prefix, then builds and runs a program against it from outside.
set(WORK ${BUILD}/package_test)
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE STATUS OUTPUT_VARIABLE OUTPUT ERROR_VARIABLE OUTPUT)
  if(NOT STATUS EQUAL 0)
    list(JOIN ARGN " " COMMAND)
    message(FATAL_ERROR "failed (${STATUS}): ${COMMAND}\n${OUTPUT}")
  endif()
  set(OUTPUT "${OUTPUT}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DTENON_WANTED=${VERSION})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/program)
message("${OUTPUT}")
if(NOT OUTPUT MATCHES "Tenon ${VERSION}")
  message(FATAL_ERROR "the program does not say \"Tenon ${VERSION}\"")
endif()
